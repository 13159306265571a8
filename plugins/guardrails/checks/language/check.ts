import type { TextCheck } from '../../check.js';
import { identifyLanguage } from './identify.js';

/** Other names of the same. */
const same: Readonly<Record<string, string>> = {
  pes_Arab: 'fas_Arab',
  arb_Arab: 'ara_Arab',
  nob_Latn: 'nor_Latn',
  tgl_Latn: 'fil_Latn',
  zsm_Latn: 'msa_Latn',
  azj_Latn: 'aze_Latn',
  lvs_Latn: 'lav_Latn',
  ekk_Latn: 'est_Latn',
};

/** Is the text in one of the languages? A text that is too short to identify passes. */
export const language: TextCheck = {
  id: 'gateway.language',
  runs: 'text',
  run({ text }, parameters) {
    const { language: codes = [], not } = parameters as unknown as {
      readonly language?: readonly string[];
      readonly not: boolean;
    };
    const found = identifyLanguage(text);
    if (found === null || codes.length === 0) {
      const explanation =
        found === null ? 'The language of the text is not known.' : 'No languages are given.';
      return { verdict: true, data: { detectedLanguage: found?.code ?? null, not, explanation } };
    }
    const isListed = codes.map((code) => same[code] ?? code).includes(found.code);
    const explanation = `The text is in ${found.code}, which is ${isListed ? '' : 'not '}in the list.`;
    const confidence = Math.round(found.confidence * 100) / 100;
    const data = {
      detectedLanguage: found.code,
      confidence,
      allowedLanguages: codes.slice(0, 60),
      not,
      explanation,
    };
    return { verdict: isListed !== not, data };
  },
};
