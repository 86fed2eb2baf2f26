"""One cycle of decisions: heads are nominated, put in order, and admitted, or preempt, or wait."""
