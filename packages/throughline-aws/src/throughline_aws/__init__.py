"""OpenLineage to Amazon DataZone / SageMaker Catalog: a backend of throughline, and a proxy.

The proxy's four handlers run in Lambda: `authorizer`, `receiver`, `worker`, `audit`.
"""
