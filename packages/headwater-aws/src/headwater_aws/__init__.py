"""OpenLineage to Amazon DataZone / SageMaker Catalog: a backend of headwater, and a proxy.

- `authorizer`, `receiver`, `worker`, `audit`: the proxy's Lambda functions, each with a `handler`.
- `payloads`: types of what Lambda passes to the handlers and takes from them.
- `datazone`: the backend of headwater's delivery.
- `plugin`: adds the backend and the harvesters to headwater.
- `harvest`: the harvesters `glue`, `logs` and `redshift` of `headwater harvest`.
"""

__all__ = ["audit", "authorizer", "datazone", "harvest", "payloads", "plugin", "receiver", "worker"]
