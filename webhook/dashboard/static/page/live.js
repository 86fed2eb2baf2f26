/** What changed, as the server tells it. */

const RETRY = [1000, 2000, 5000, 10000];

/**
 * Listens to `/ui/events`, which tells the state first and then each change: `changed({revision, parts})` hears of it.
 * `state(word)` hears `live` or `reconnecting`. What it gives ends it.
 */
export function listen({ changed, state }) {
  let source = null;
  let over = false;
  let tries = 0;

  function open() {
    if (over) return;
    source = new EventSource("events");
    source.onopen = () => {
      tries = 0;
      state("live");
    };
    source.addEventListener("changed", (event) => changed(JSON.parse(event.data)));
    source.onerror = () => {
      state("reconnecting");
      if (source.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
      source.close();
      setTimeout(open, RETRY[Math.min(tries++, RETRY.length - 1)]);
    };
  }

  state("reconnecting");
  open();
  return () => {
    over = true;
    source.close();
  };
}
