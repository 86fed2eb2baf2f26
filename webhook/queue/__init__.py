"""The quota core: snapshot + rules + now -> decisions. Arithmetic only: no clock, no log, no CEL, no Kubernetes."""
