"""The proxy on one machine: the same handlers, between stand-ins of what AWS has around them.

API Gateway (`gateway`), Lambda's mapping of a queue (`mapping`) and DataZone (`datazone`) are stood
in for; the queue is any SQS server that AWS_ENDPOINT_URL_SQS names, such as ElasticMQ.
"""
