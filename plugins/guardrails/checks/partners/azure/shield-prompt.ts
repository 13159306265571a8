import { isPlain } from '../../request/values.js';
import { eachText, partnerCheck, slicesOf } from '../partner.js';
import { askAzure } from './azure.js';
import { maxSafetyLength } from './content-safety.js';

/**
 * Azure AI Content Safety, text:shieldPrompt: attacks on the model in a prompt.
 * learn.microsoft.com/azure/ai-services/content-safety/quickstart-jailbreak
 */
export const shieldPrompt = partnerCheck({
  id: 'azure.shieldPrompt',
  async judge(ask, { apiVersion }) {
    const attacks = await eachText(slicesOf(ask.context.text, maxSafetyLength), async (userPrompt) => {
      const body = { userPrompt, documents: [] };
      const answer = await askAzure(
        ask,
        'contentSafety',
        '/contentsafety/text:shieldPrompt',
        apiVersion,
        body,
      );
      const { userPromptAnalysis: analysis } = answer;
      if (!isPlain(analysis) || typeof analysis['attackDetected'] !== 'boolean') throw ask.unexpected();
      return analysis['attackDetected'];
    });
    const attackDetected = attacks.includes(true);
    return { verdict: !attackDetected, data: { attackDetected } };
  },
});
