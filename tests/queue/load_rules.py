"""Rules from QueuePolicies that a test writes."""

from webhook.documents import Document, read
from webhook.policy.queue_rules.configured import Configured
from webhook.policy.queue_rules.files import names_of, rules_configured


def load_rules(source, parameters=None, settings=None):
    """Compile QueuePolicy documents, or the text of a file of them, a later one over an earlier one.

    Parameters and settings go before those of the files. Raises SourceError with every mistake found.
    """
    documents = read(source) if isinstance(source, str) else [source] if isinstance(source, Document) else list(source)
    return rules_configured(documents, Configured(names_of(documents), parameters or {}, settings or {}))
