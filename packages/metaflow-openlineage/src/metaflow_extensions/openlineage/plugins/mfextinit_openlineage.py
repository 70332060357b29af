"""Register the step decorator, so that `--with openlineage` needs no change of a flow."""

STEP_DECORATORS_DESC = [("openlineage", ".openlineage_decorator.OpenLineageDecorator")]
