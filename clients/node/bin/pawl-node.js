#!/usr/bin/env node
// SPDX-License-Identifier: MIT
import { main } from "../lib/check.js";

main(process.argv.slice(2)).then((status) => process.exit(status), (error) => {
  process.stderr.write(`pawl-node: ${error.message}\n`);
  process.exit(2);
});
