import type { RemoteCheck } from '../../check.js';
import { partnerCheck } from './partner.js';

/** Pillar answers with what each scanner has found: true or a list; false, null or [] for nothing. */
const isFinding = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value));

const scan = (id: string, path: string): RemoteCheck =>
  partnerCheck({
    id,
    async judge(ask, parameters) {
      const scanners = parameters['scanners'] as readonly string[];
      const base = ask.base(() => 'https://api.pillarseclabs.com');
      const answer = await ask.post(`${base}/api/v1/scan/${path}`, ask.bearer, {
        message: ask.context.text,
        scanners: Object.fromEntries(scanners.map((scanner) => [scanner, true])),
      });
      if (!scanners.some((scanner) => scanner in answer)) throw ask.unexpected();
      const found = scanners.filter((scanner) => isFinding(answer[scanner]));
      return { verdict: found.length === 0, data: { found } };
    },
  });

export const pillar: readonly RemoteCheck[] = [
  scan('pillar.scanPrompt', 'prompt'),
  scan('pillar.scanResponse', 'response'),
];
