"""Common parts of the endpoints: routes, parameters, admission and errors."""
