import { isPlain } from '../request/values.js';
import { partnerCheck, records } from './partner.js';

/** A project of Aporia. docs.aporia.com, POST /{project}/validate */
export const aporia = partnerCheck({
  id: 'aporia.validateProject',
  async judge(ask, { projectID }) {
    const { phase, text } = ask.context;
    const base = ask.base(() => 'https://gr-prd.aporia.com');
    const url = `${base}/${encodeURIComponent(String(projectID))}/validate`;
    const answer = await ask.post(
      url,
      { 'x-aporia-api-key': ask.key },
      {
        messages: [{ role: 'user', content: ask.requestText }],
        explain: true,
        ...(phase === 'before'
          ? { validation_target: 'prompt' }
          : { validation_target: 'response', response: text }),
      },
    );
    const { action, policy_execution_result: result } = answer;
    if (typeof action !== 'string') throw ask.unexpected();
    const policies = records(isPlain(result) ? result['policy_log'] : null).map((one) => one['policy_type']);
    // `modify` and `rephrase` would change the text, which this check does not: the text does not pass.
    return { verdict: action === 'passthrough', data: { action, policies } };
  },
});
