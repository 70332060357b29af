"""OpenLineage to Amazon DataZone / SageMaker Catalog: a backend of throughline, and a proxy.

The proxy's four handlers run in Lambda as `infra/templates/openlineage-proxy.yaml` wires them, and
on one machine as `throughline_aws.local` does: `authorizer`, `receiver`, `worker`, `audit`.
"""
