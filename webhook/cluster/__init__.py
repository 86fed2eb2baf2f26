"""The Kubernetes side: objects of a live cluster, leader election, registration, and the controller of the queues."""
