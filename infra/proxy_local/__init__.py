"""The proxy on one machine: the same handlers with local stand-ins for AWS services.

There are stand-ins for API Gateway (`gateway`), Lambda's event source mapping (`mapping`) and
DataZone (`datazone`). The queue is any SQS server at AWS_ENDPOINT_URL_SQS, such as ElasticMQ.
"""
