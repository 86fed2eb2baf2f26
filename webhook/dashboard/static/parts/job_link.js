/** Links to jobs. */

import { h } from "../page/elements.js";
import { address } from "../page/route.js";
import { listed, words } from "../page/words.js";

/** A link to the job of a row by its own name; to a Workload without a job by the Workload's. */
export function jobLink(row) {
  return h("a", { href: address("workloads", [row.namespace, row.name]) }, row.job || row.name, " ", h("small", {}, row.namespace));
}

/** A job that another answer names: a link, or of which queue it is where the reader may not see it. */
export function jobRef({ workload, job, clusterQueue }) {
  if (!workload) return words().hiddenJob(clusterQueue);
  const [namespace, name] = workload.split("/");
  return jobLink({ namespace, name, job });
}

/** Several of them in one line; those that the reader may not see as their number. */
export function jobRefs(refs) {
  const seen = refs.filter(({ workload }) => workload).map(jobRef);
  const hidden = refs.length - seen.length;
  if (!seen.length) return hidden === 1 ? jobRef(refs[0]) : words().hiddenJobs(hidden);
  const parts = hidden ? [...seen, words().moreJobs(hidden)] : seen;
  return parts.flatMap((part, place) => (place ? [listed(["", ""]), part] : [part]));
}
