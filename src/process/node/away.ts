import { GatewayError } from '../../common/core/errors.js';

/** Did the store not answer? Then it is tried again. */
export const isAway = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === 'store_unavailable';
