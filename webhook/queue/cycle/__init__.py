"""Scheduling cycles: heads of queues are nominated, ordered, and then admitted, made to preempt, or left waiting."""
