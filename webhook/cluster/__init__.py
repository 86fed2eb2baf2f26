"""The Kubernetes side: live objects, leader election, registration, and the controller of the queues."""
