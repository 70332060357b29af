#!/usr/bin/env bash
# Runs flow.py. Metaflow's data and the lineage events stay in this folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export METAFLOW_HOME=$here/metaflow METAFLOW_DATASTORE_SYSROOT_LOCAL=$here/metaflow
export METAFLOW_DEFAULT_DATASTORE=local METAFLOW_DEFAULT_METADATA=local METAFLOW_USER=reader
export OPENLINEAGE_NAMESPACE=lessons
export OPENLINEAGE__TRANSPORT="{\"type\": \"headwater.spool.SpoolTransport\", \"directory\": \"$here/spool\"}"
"${PYTHON:-.venv/bin/python}" "$here/flow.py" run
