#!/bin/bash
# Run the flow; write each event to a file of the folder $1. The flow is $2, or else line_flow.py of this folder.
set -euo pipefail

mkdir -p "$1"
export OPENLINEAGE_NAMESPACE=tests METAFLOW_USER=tester
export OPENLINEAGE__TRANSPORT="{\"type\": \"file\", \"log_file_path\": \"$1/event\"}"
python "${2:-$(dirname "$0")/line_flow.py}" run
