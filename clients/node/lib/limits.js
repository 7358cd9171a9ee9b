// SPDX-License-Identifier: MIT
// Limits: how much of some work runs at once, and how often it begins (docs/guide/limits.md).  Called by the
// client.  (What payloads and names may be is turns/checks.js.)
import { ifMatch } from "./schedules.js";
import { pages, path } from "./wire.js";

const at = (name) => path`/api/v1/limits/${name}`;

export class Limits {
  constructor(wire) {
    this.wire = wire;
  }

  async put(name, spec, { if_revision } = {}) {
    return (await this.wire.call("PUT", at(name), { body: spec, headers: ifMatch(if_revision) })).value;
  }

  async get(name) {
    return (await this.wire.call("GET", at(name))).value;
  }

  list(query) {
    return pages(this.wire, "/api/v1/limits", "limits", query);
  }

  async remove(name, { if_revision } = {}) {
    await this.wire.call("DELETE", at(name), { headers: ifMatch(if_revision) });
  }
}
