import { isPlain } from '../../request/values.js';
import { eachText, partnerCheck, slicesOf } from '../partner.js';
import { askAzure } from './azure.js';
import { maxSafetyLength } from './content-safety.js';

/**
 * Azure AI Content Safety, text:detectProtectedMaterial: known lyrics, articles, recipes.
 * learn.microsoft.com/azure/ai-services/content-safety/quickstart-protected-material
 */
export const protectedMaterial = partnerCheck({
  id: 'azure.protectedMaterial',
  async judge(ask, { apiVersion }) {
    const path = '/contentsafety/text:detectProtectedMaterial';
    const found = await eachText(slicesOf(ask.context.text, maxSafetyLength), async (text) => {
      const answer = await askAzure(ask, 'contentSafety', path, apiVersion, { text });
      const { protectedMaterialAnalysis: analysis } = answer;
      if (!isPlain(analysis) || typeof analysis['detected'] !== 'boolean') throw ask.unexpected();
      return analysis['detected'];
    });
    const detected = found.includes(true);
    return { verdict: !detected, data: { detected } };
  },
});
