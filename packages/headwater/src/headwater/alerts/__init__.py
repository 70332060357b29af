"""Alert rules, and the actions that run when one of them is violated."""
