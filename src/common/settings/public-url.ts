import type { Settings } from './settings.js';

/** URL under which clients reach the gateway, without a slash at its end. */
export const publicUrlOf = ({ publicUrl, port }: Pick<Settings, 'publicUrl' | 'port'>): string =>
  publicUrl ?? `http://localhost:${port}`;
