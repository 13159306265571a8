import type { RunnableCheck } from '../../../src/common/guardrails/plugin-check.js';
import type { RemoteCheck } from '../check.js';

/** A check that a custom plugin brings, as the stage runs those that may wait for something. */
export const checkOfPlugin = ({ id, phases, transforms, applies, run }: RunnableCheck): RemoteCheck => ({
  ...{ id, runs: 'remote', phases, applies },
  ...(transforms && { transforms, mustChange: true as const }),
  async run({ partner: _none, moderate: _own, format: _format, ...context }, parameters) {
    const { transformed, ...result } = await run(context, parameters);
    return transforms && transformed !== undefined ? { ...result, transformed } : result;
  },
});
