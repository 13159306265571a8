import type { JsonObject } from '../../../common/core/exchange.js';
import type { ConversionContext } from '../provider.js';

/**
 * `stop_reason: true` in a choice that a stop sequence ended, for clients whose format has a reason of its own for that. These
 * providers do not report which sequence it was.
 */
export const stoppedBy = (bySequence: boolean, { canonicalReasons }: ConversionContext): JsonObject =>
  bySequence && canonicalReasons === true ? { stop_reason: true } : {};
