import type { Plugin } from '../../../src/common/plugin-host/plugin.js';
import stage from './stage.js';

/** Works in the control process alone. */
export default {
  ...stage,
  setup: () => ({}),
} satisfies Plugin<Record<string, never>, never>;
