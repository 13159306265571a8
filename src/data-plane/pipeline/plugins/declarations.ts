import type { StageDeclaration } from '../../../common/plugin-host/plugin.js';
import { order } from '../order.js';

/**
 * The default export of each stage's `stage.ts`. Loaded by every process; it is plain data. The bundle, whose scripts cannot
 * await at their top, has imports in place of this module (`tools/bundle.mjs`).
 */
export const declarations: readonly StageDeclaration[] = await Promise.all(
  order.map(async (name) => {
    const loaded = (await import(`../../../../plugins/${name}/stage.js`)) as { default: StageDeclaration };
    return loaded.default;
  }),
);
