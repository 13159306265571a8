import type { AnyKind } from '../detect/kind.js';
import { americanKinds } from './americas.js';
import { asianKinds } from './asia-pacific.js';
import { britishKinds } from './british.js';
import { contactKinds, namedPhone } from './contact.js';
import { documentKinds } from './documents.js';
import { financeKinds } from './finance.js';
import { northernKinds } from './northern-europe.js';
import { addressKinds, nameKinds } from './people.js';
import { westernKinds } from './western-europe.js';

/** Every kind of personal data, the more certain first: of two with the same value the earlier is reported. */
export const personalKinds: readonly AnyKind[] = [
  ...financeKinds,
  ...americanKinds,
  ...britishKinds,
  ...westernKinds,
  ...northernKinds,
  ...asianKinds,
  ...documentKinds,
  ...contactKinds,
  ...addressKinds,
  ...nameKinds,
  namedPhone,
];

/** Their ids, each once: the categories that a guardrail may name. */
export const personalCategories: readonly string[] = [...new Set(personalKinds.map(({ id }) => id))];
