// SPDX-License-Identifier: MIT
// The workloads on DBOS: its TypeScript library in this process, on PostgreSQL.
//
//     main.mjs DATABASE_URL SECONDS WORKLOAD:IN_FLIGHT…
import { DBOS } from "@dbos-inc/dbos-sdk";
import { OUTPUT, body, workflows } from "./load.mjs";

const [url, seconds, ...plans] = process.argv.slice(2);

async function bench(workload) {
  return body(workload, () => DBOS.runStep(async () => OUTPUT, { name: "step" }));
}
const registered = DBOS.registerWorkflow(bench, { name: "bench" });

DBOS.setConfig({ name: "bench", systemDatabaseUrl: url, logLevel: "error", runAdminServer: false });
await DBOS.launch();
await workflows(seconds, plans, async (id, workload) => {
  const handle = await DBOS.startWorkflow(registered, { workflowID: id })(workload);
  await handle.getResult();
});
await DBOS.shutdown();
process.exit(0);
