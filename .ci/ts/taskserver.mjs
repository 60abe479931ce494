// Checks examples/taskserver with a client that is not ours: the TypeScript
// SDK's, in a process of its own. The only argument is the server's program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const program = process.argv[2];
const deadline = setTimeout(() => {
  console.error("it takes too long");
  process.exit(1);
}, 60_000);

// Server is one run of the program, with the events that it printed.
class Server {
  constructor(...args) {
    this.child = spawn(program, ["-addr", "127.0.0.1:0", ...args], { stdio: ["pipe", "pipe", "inherit"] });
    this.events = [];
    this.waiting = [];
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      this.events.push(JSON.parse(line));
      this.waiting.splice(0).forEach((wake) => wake());
    });
  }

  // event waits for the first event for which ok is true.
  async event(ok) {
    for (;;) {
      const found = this.events.find(ok);
      if (found) return found;
      await new Promise((wake) => this.waiting.push(wake));
    }
  }

  async start() {
    const first = await this.event((e) => e.url);
    this.url = first.url;
    this.grants = Object.fromEntries(first.grants.map((g) => [g.task, g]));
    for (const g of first.grants) {
      // What an agent program is given is enough to connect.
      const [config] = Object.values(g.config.mcpServers);
      assert.equal(config.url, first.url);
      assert.equal(config.headers.Authorization, `Bearer ${g.token}`);
    }
    return this;
  }

  say(line) {
    this.child.stdin.write(line + "\n");
  }

  async quit() {
    this.say("quit");
    if (this.child.exitCode === null) await once(this.child, "exit");
    assert.equal(this.child.exitCode, 0);
  }
}

async function connect(url, token) {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const client = new Client({ name: "ts", version: "1" });
  await client.connect(transport);
  return { client, transport };
}

async function refused(url, token, what) {
  await assert.rejects(connect(url, token), (err) => err.code === 401 || /401|unauthorized/i.test(String(err)), what);
}

const text = (result) => result.content.map((c) => c.text).join("\n");

const server = await new Server("-task", "one", "-task", "two").start();
const { client, transport } = await connect(server.url, server.grants.one.token);

// All four tools, listed and called.
const tools = (await client.listTools()).tools;
assert.deepEqual(tools.map((t) => t.name).sort(), ["ask_user", "record_progress", "report_summary", "spawn_subtask"]);
for (const tool of tools) {
  assert.equal(tool.inputSchema.type, "object");
  assert.ok(tool.description.length > 20, tool.name);
}
let result = await client.callTool({ name: "record_progress", arguments: { text: "began", task_id: "two" } });
assert.ok(!result.isError, text(result));
const progress = await server.event((e) => e.event === "progress");
assert.equal(progress.task, "one", "an argument chose the task");
result = await client.callTool({ name: "spawn_subtask", arguments: { title: "part", prompt: "do a part", task: "two" } });
assert.ok(!result.isError, text(result));
assert.equal((await server.event((e) => e.event === "subtask")).task, "one");
result = await client.callTool({ name: "ask_user", arguments: { question: "which color?" } });
assert.match(text(result), /end/i, "a blocked question tells the agent to end its turn");
assert.ok(!result.isError, text(result));
assert.equal((await server.event((e) => e.event === "question")).task, "one");
result = await client.callTool({ name: "report_summary", arguments: { summary: "done" } });
assert.ok(!result.isError, text(result));
assert.equal((await server.event((e) => e.event === "summary")).task, "one");

// Tokens.
await refused(server.url, undefined, "no token");
await refused(server.url, "wrong", "a wrong token");
await refused(server.url, server.grants.one.token.slice(0, -1) + "x", "a token with a typo");

// The session of one with the token of two is unknown.
const response = await fetch(server.url, {
  method: "POST",
  headers: {
    Authorization: `Bearer ${server.grants.two.token}`,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "Mcp-Session-Id": transport.sessionId,
    "Mcp-Protocol-Version": "2025-11-25",
  },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
});
assert.equal(response.status, 404, "a session of another token");
await response.body?.cancel();

// Revoked, while the client is connected.
server.say("revoke one");
await server.event((e) => e.event === "revoked" && e.task === "one");
await assert.rejects(client.callTool({ name: "record_progress", arguments: { text: "more" } }));
await refused(server.url, server.grants.one.token, "a revoked token");
await client.close().catch(() => {});

// The other run goes on.
const other = await connect(server.url, server.grants.two.token);
assert.equal((await other.client.listTools()).tools.length, 4);
await other.client.close();
await server.quit();

// Expired.
const short = await new Server("-task", "short", "-ttl", "1s").start();
await short.event((e) => e.event === "expired");
await refused(short.url, short.grants.short.token, "an expired token");
await short.quit();

// A live question is answered while the agent waits.
const live = await new Server("-task", "live", "-live").start();
const waiting = await connect(live.url, live.grants.live.token);
const answer = waiting.client.callTool({ name: "ask_user", arguments: { question: "which color?" } });
await live.event((e) => e.event === "question");
live.say("answer live green");
assert.match(text(await answer), /green/);
await waiting.client.close();
await live.quit();

clearTimeout(deadline);
console.log("taskserver: the TypeScript client is served as promised");
