import type { StageDeclaration } from '../../../src/common/plugin-host/plugin.js';

export default {
  name: 'sweeper',
  control: true,
  schedules: { sweep: { seconds: 60, doc: 'notes when it ran' } },
} as const satisfies StageDeclaration;
