"""The webhook registration of the policies and of the gate."""
