import { definePlugin, type NeedsOf } from '../../src/common/plugin-host/plugin.js';
import stage from './stage.js';

/** Reads and checks the bodies of requests to endpoints that the gateway parses. */
export default definePlugin<Record<string, never>, NeedsOf<typeof stage>>({
  ...stage,
  setup: (_options, { readBody }) => ({ request: readBody, explain: readBody }),
});
