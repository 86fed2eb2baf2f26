/** What a job lacks, flavor by flavor, and who must end first. */

import { h } from "../../page/elements.js";
import { said } from "../../page/sentences.js";
import { ahead, amount } from "../../page/units.js";
import { words } from "../../page/words.js";
import { jobRef } from "../../parts/job_link.js";
import { table } from "../../parts/table.js";

/** A table of what is asked and free; nothing where nothing is known. `own` is the queue of the job that lacks it. */
export function shortages(rows, at, own) {
  if (!rows.length) return null;
  const say = (field) => (row) => amount(row.resource, row[field] ?? 0);
  const columns = [
    { head: words().podSet, cell: (row) => row.podSet },
    { head: words().flavor, cell: (row) => row.flavor },
    { head: words().resource, cell: (row) => row.resource },
    { head: words().asked, kind: "number", cell: say("asked") },
    { head: words().free, kind: "number", cell: say("free") },
    { head: words().most, kind: "number", cell: say("most") },
    { head: words().endsFirst, kind: "text", cell: (row) => first(row, at, own) },
  ];
  const keyed = (row) => `${row.podSet}/${row.flavor}/${row.resource}`;
  return table({ caption: words().shortageCaption, columns, rows, key: keyed });
}

function first({ note, holders = [], resource }, at, own) {
  const items = holders.map((holder) => h("li", {},
    h("strong", {}, amount(resource, holder.amount)), " ", who(holder, own),
    holder.ends ? ` · ${words().endsIn(ahead(holder.ends, at))}` : ""));
  return [note && h("span", { class: "message" }, said(note)), items.length > 0 && h("ul", { class: "plain" }, items)];
}

function who(holder, own) {
  return [jobRef(holder), holder.workload && holder.clusterQueue !== own && ` ${words().inQueue(holder.clusterQueue)}`];
}
