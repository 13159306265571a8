import type { RemoteCheck } from '../../check.js';
import { isPlain } from '../request/values.js';
import { partnerCheck } from './partner.js';

const protect = (id: string, field: 'prompt' | 'response'): RemoteCheck =>
  partnerCheck({
    id,
    async judge(ask) {
      const base = ask.base(() => `https://${ask.need('apiDomain')}`);
      const headers = { 'app-id': ask.key };
      const answer = await ask.post(`${base}/api/protect`, headers, { [field]: ask.context.text });
      const result = isPlain(answer['result']) ? answer['result'][field] : null;
      if (!isPlain(result) || typeof result['passed'] !== 'boolean') throw ask.unexpected();
      const { violations } = result;
      return {
        verdict: result['passed'],
        data: { found: Array.isArray(violations) ? violations.map(String) : [] },
      };
    },
  });

/** Prompt Security: policies of an application. POST /api/protect */
export const promptsecurity: readonly RemoteCheck[] = [
  protect('promptsecurity.protectPrompt', 'prompt'),
  protect('promptsecurity.protectResponse', 'response'),
];
