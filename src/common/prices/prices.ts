import { p302ai } from './lists/302ai.js';
import { ai21 } from './lists/ai21.js';
import { anthropic } from './lists/anthropic.js';
import { azureAi } from './lists/azure-ai.js';
import { azureOpenai } from './lists/azure-openai.js';
import { baseten } from './lists/baseten.js';
import { bedrock } from './lists/bedrock.js';
import { cerebras } from './lists/cerebras.js';
import { chutes } from './lists/chutes.js';
import { cohere } from './lists/cohere.js';
import { dashscope } from './lists/dashscope.js';
import { databricks } from './lists/databricks.js';
import { deepinfra } from './lists/deepinfra.js';
import { deepseek } from './lists/deepseek.js';
import { digitalocean } from './lists/digitalocean.js';
import { fireworksAi } from './lists/fireworks-ai.js';
import { friendli } from './lists/friendli.js';
import { google } from './lists/google.js';
import { groq } from './lists/groq.js';
import { inception } from './lists/inception.js';
import { inferenceNet } from './lists/inference-net.js';
import { iointelligence } from './lists/iointelligence.js';
import { minimax } from './lists/minimax.js';
import { mistralAi } from './lists/mistral-ai.js';
import { morph } from './lists/morph.js';
import { nebius } from './lists/nebius.js';
import { novitaAi } from './lists/novita-ai.js';
import { nscale } from './lists/nscale.js';
import { openai } from './lists/openai.js';
import { openrouter } from './lists/openrouter.js';
import type { DollarPrice, PriceList, PriceRow, PriceSheet } from './lists/price-list.js';
import { sambanova } from './lists/sambanova.js';
import { togetherAi } from './lists/together-ai.js';
import { upstage } from './lists/upstage.js';
import { vertexAi } from './lists/vertex-ai.js';
import { voyage } from './lists/voyage.js';
import { vultr } from './lists/vultr.js';
import { wandb } from './lists/wandb.js';
import { workersAi } from './lists/workers-ai.js';
import { xAi } from './lists/x-ai.js';
import { zAi } from './lists/z-ai.js';

export type { DollarPrice, PriceList };

/**
 * Standard prices of well-known models by provider, as a starting point: providers change them without notice, and a
 * contract may have its own. What is not here has no price, rather than a guessed one: models billed by the picture, by the
 * way that they think, or in another currency than dollars; free ones too, for free ends.
 */
export const priceLists: Readonly<Record<string, PriceList>> = {
  '302ai': p302ai,
  ai21,
  anthropic,
  'azure-ai': azureAi,
  'azure-openai': azureOpenai,
  baseten,
  bedrock,
  cerebras,
  chutes,
  cohere,
  dashscope,
  databricks,
  deepinfra,
  deepseek,
  digitalocean,
  'fireworks-ai': fireworksAi,
  friendli,
  google,
  groq,
  inception,
  'inference-net': inferenceNet,
  iointelligence,
  minimax,
  'mistral-ai': mistralAi,
  morph,
  nebius,
  'novita-ai': novitaAi,
  nscale,
  openai,
  openrouter,
  sambanova,
  'together-ai': togetherAi,
  upstage,
  'vertex-ai': vertexAi,
  voyage,
  vultr,
  wandb,
  'workers-ai': workersAi,
  'x-ai': xAi,
  'z-ai': zAi,
};

export interface ListedPrice extends DollarPrice {
  readonly model: string;
  /** The day from which on it holds (UTC); absent: always, until another row's day. */
  readonly since?: string;
  /** Where it was read, and on which day. */
  readonly source: string;
  readonly readOn: string;
}

/** Their rows, by provider. A model has several where its price has changed. */
export const builtInPrices: Readonly<Record<string, readonly ListedPrice[]>> = Object.fromEntries(
  Object.entries(priceLists).map(([provider, list]) => [
    provider,
    list.sheets.flatMap((sheet) => sheet.rows.map((row) => listed(row, sheet, list))),
  ]),
);

function listed(
  [model, input, output, cached, cacheWrite, above, more]: PriceRow,
  { from, on, since }: PriceSheet,
  { tiers, cacheWriteHour }: PriceList,
): ListedPrice {
  const hour = cacheWriteHour !== undefined && typeof cacheWrite === 'number' ? cacheWriteHour : null;
  return {
    model,
    input,
    output,
    ...(typeof cached === 'number' && { cached }),
    ...(typeof cacheWrite === 'number' && { cacheWrite }),
    ...(hour !== null && { cacheWriteHour: sixDigits(hour * input) }),
    ...(above && {
      above: hour === null ? above : { ...above, cacheWriteHour: sixDigits(hour * above.input) },
    }),
    ...(tiers && { tiers }),
    ...more,
    ...(since !== undefined && { since }),
    source: from,
    readOn: on,
  };
}

/** Without what a binary product is off by. */
function sixDigits(dollars: number): number {
  return Math.round(dollars * 1e6) / 1e6;
}
