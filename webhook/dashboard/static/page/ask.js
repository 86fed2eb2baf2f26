/** Questions to the server. */

/**
 * An answer that is none: `status` is HTTP's, 0 where nobody answered; `message` the server's sentence, if any; `fields`
 * are messages about fields of a form, by their names.
 */
export class Refused extends Error {
  constructor(status, message, causes = []) {
    super(message);
    this.status = status;
    this.fields = Object.fromEntries(causes.map(({ field, message: said }) => [field, said]));
  }
}

/** What came of a question that a form asks: `{answer}`, or `{problem}` that is shown beside the form. */
export async function tried(asking) {
  try {
    return { answer: await asking };
  } catch (problem) {
    if (!(problem instanceof Refused) || problem.status === 401) throw problem;
    return { problem };
  }
}

/** The JSON answer to `GET api/…`; settings that are empty are left out. Throws Refused. */
export async function ask(path, query = {}, signal = undefined) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const parts = path.map(encodeURIComponent).join("/");
  const settings = new URLSearchParams(given).toString();
  const answer = await reached(`api/${parts}${settings && `?${settings}`}`, { signal });
  return answer.json();
}

/** Sends the form of the login; throws Refused where the token is not one. */
export async function login(token) {
  await reached("api/login", { method: "POST", body: new URLSearchParams({ token }) });
}

export async function logout() {
  await reached("api/logout", { method: "POST" });
}

async function reached(url, options) {
  let answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, String(said.message ?? ""), said.details?.causes);
}
