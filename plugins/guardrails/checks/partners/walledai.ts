import { isPlain } from '../request/values.js';
import { partnerCheck, records } from './partner.js';

interface WalledAi {
  readonly generic_safety_check: boolean;
  readonly greetings_list?: readonly string[];
  readonly pii_list?: readonly string[];
  readonly compliance_list?: readonly string[];
}

/** Parts of an answer; it has those that were asked for. */
const topics = ['safety', 'pii', 'compliance', 'greetings'];

/** Walled Protect: safety, and personal data and subjects where they are named. POST /v1/walled-protect */
export const walledai = partnerCheck({
  id: 'walledai.walledprotect',
  async judge(ask, parameters) {
    const {
      generic_safety_check,
      greetings_list = [],
      pii_list = [],
      compliance_list = [],
    } = parameters as unknown as WalledAi;
    const base = ask.base(() => 'https://services.walled.ai');
    const answer = await ask.post(
      `${base}/v1/walled-protect`,
      { 'x-api-key': ask.key },
      { text: ask.context.text, generic_safety_check, greetings_list, pii_list, compliance_list },
    );
    const { data } = answer;
    if (!isPlain(data) || !topics.some((topic) => Array.isArray(data[topic]))) throw ask.unexpected();
    const found = [
      ...records(data['safety']).flatMap((one) => (one['isSafe'] === false ? ['safety'] : [])),
      ...records(data['pii']).flatMap(({ isPresent, pii_type }) =>
        isPresent === true ? [`pii: ${pii_type}`] : [],
      ),
      ...records(data['compliance']).flatMap(({ isOnTopic, topic }) =>
        isOnTopic === false ? [`compliance: ${topic}`] : [],
      ),
    ];
    return { verdict: found.length === 0, data: { found } };
  },
});
