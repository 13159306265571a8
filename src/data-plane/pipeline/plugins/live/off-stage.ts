import { GatewayError } from '../../../../common/core/errors.js';
import type { Exchange } from '../../../../common/core/exchange.js';
import type { Stage } from '../plugins.js';

/** What stays in the place of a required plugin that is switched off: it refuses the requests that the plugin would see. */
export function offStage(name: string, applies: ((x: Exchange) => boolean) | null): Stage {
  const refuse = (x: Exchange): void => {
    if (applies !== null && !applies(x)) return;
    throw new GatewayError(
      'plugin_off',
      `The plugin ${name}, without which this request must not pass, is switched off: try again once its operator has replaced it.`,
    );
  };
  return { name, hooks: { request: refuse, explain: refuse } };
}
