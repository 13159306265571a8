import { randomUUID } from 'node:crypto';
import type { RemoteCheck } from '../../check.js';
import { partnerCheck, trueNames } from './partner.js';

const intercept = (id: string): RemoteCheck =>
  partnerCheck({
    id,
    async judge(ask, parameters) {
      const { phase, text, model } = ask.context;
      const base = ask.base(() => 'https://service.api.aisecurity.paloaltonetworks.com');
      const answer = await ask.post(
        `${base}/v1/scan/sync/request`,
        { 'x-pan-token': ask.key },
        {
          tr_id: randomUUID(),
          ai_profile: { profile_name: parameters['profile_name'] },
          metadata: {
            ai_model: parameters['ai_model'] ?? model ?? 'unknown',
            app_user: parameters['app_user'] ?? 'headgate',
            app_name: 'headgate',
          },
          contents: [{ [phase === 'before' ? 'prompt' : 'response']: text }],
        },
      );
      const { action, category, report_id } = answer;
      if (action !== 'allow' && action !== 'block') throw ask.unexpected();
      const found = trueNames(answer[phase === 'before' ? 'prompt_detected' : 'response_detected']);
      return { verdict: action === 'allow', data: { action, category, report_id, found } };
    },
  });

/** Prisma AIRS, under both of its ids. pan.dev/airs, POST /v1/scan/sync/request */
export const prismaAirs: readonly RemoteCheck[] = [
  intercept('panw-prisma-airs.intercept'),
  intercept('panwPrismaAirs.intercept'),
];
