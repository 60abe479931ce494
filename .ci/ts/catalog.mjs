// Lists without pause with the TypeScript SDK's client while the catalog of the
// server changes, and judges what it saw. The server is a Go test: it gives URL,
// token and the number of changes in the environment, changes the catalog while
// this runs, and then says on standard input what each revision holds. A report
// goes to standard output, as one JSON object.
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const { CATALOG_URL, CATALOG_TOKEN } = process.env;

const client = new Client({ name: "catalog-check", version: "1.0.0" });
let notified = 0;
let lastNotified = 0;
client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
  notified++;
  lastNotified = Date.now();
});
await client.connect(new StreamableHTTPClientTransport(new URL(CATALOG_URL), {
  requestInit: { headers: { Authorization: `Bearer ${CATALOG_TOKEN}` } },
}));

// The server says {"want": {...}, "ended": milliseconds} when it has changed the
// catalog for the last time, and when that was.
let want;
let ended = 0;
createInterface({ input: process.stdin }).on("line", (line) => {
  ({ want, ended } = JSON.parse(line));
});

const faults = [];
const lists = [];
console.log(JSON.stringify({ ready: true }));
while (want === undefined) {
  const list = await client.listTools();
  lists.push({
    revision: list._meta["plugberth/catalog"].revision,
    text: list.tools.map((t) => `${t.name} ${t.description}\n`).join(""),
  });
  // Lets the reader of standard input have its turn.
  await new Promise((resolve) => setImmediate(resolve));
}
let before = 0;
for (const { revision, text } of lists) {
  if (revision < before) faults.push(`revision ${revision} after ${before}`);
  before = revision;
  if (text !== want[revision]) faults.push(`revision ${revision} lists ${text}, want ${want[revision]}`);
}
const deadline = Date.now() + 20_000;
while (lastNotified < ended && Date.now() < deadline) {
  await new Promise((resolve) => setTimeout(resolve, 5));
}
const last = await client.listTools();
const newest = Math.max(...Object.keys(want).map(Number));
if (last._meta["plugberth/catalog"].revision !== newest) faults.push("the last list is not the newest");

// A call goes to the plugin, and one of a tool that is gone does not.
const called = await client.callTool({ name: last.tools[0].name, arguments: {} });
if (called.isError || called.content[0].text !== "done") faults.push(`a call: ${JSON.stringify(called)}`);
try {
  await client.callTool({ name: "plugin_gone_do", arguments: {} });
  faults.push("a tool that is not there was called");
} catch (err) {
  if (err.code !== -32602) faults.push(`a tool that is not there: ${err}`);
}
console.log(JSON.stringify({
  lists: lists.length,
  revisions: new Set(lists.map((l) => l.revision)).size,
  notified,
  notifiedAfterLast: lastNotified >= ended,
  faults: faults.slice(0, 10),
}));
await client.close();
process.exit(faults.length > 0 ? 1 : 0);
