import type { Check } from '../check.js';
import { containsCode } from './code/contains-code.js';
import { jsonKeys } from './code/json-keys.js';
import { jsonSchema } from './code/json-schema.js';
import { contains } from './contains.js';
import { promptInjection } from './injection/check.js';
import { language } from './language/check.js';
import { gibberish } from './language/gibberish-check.js';
import { partnerChecks } from './partners/index.js';
import { pii } from './pii/check.js';
import { inlineImage } from './remote/inline-image.js';
import { jwt } from './remote/jwt.js';
import { log } from './remote/log.js';
import { moderateContent } from './remote/moderate-content.js';
import { validUrls } from './remote/valid-urls.js';
import { webhook } from './remote/webhook.js';
import { addPrefix } from './request/add-prefix.js';
import { allowedRequestTypes } from './request/allowed-request-types.js';
import { requiredMetadataKeyPairs, requiredMetadataKeys } from './request/metadata.js';
import { modelRules, modelWhitelist } from './request/models.js';
import { requestParams } from './request/request-params.js';
import { secrets } from './secrets/check.js';
import { allLowerCase, allUpperCase } from './text/casing.js';
import { characterCount, sentenceCount } from './text/counts.js';
import { endsWith } from './text/ends-with.js';
import { notNull } from './text/not-null.js';
import { regexMatch } from './text/regex-match.js';
import { regexReplace } from './text/regex-replace.js';
import { wordCount } from './word-count.js';

const all: readonly Check[] = [
  ...[regexMatch, regexReplace, sentenceCount, wordCount, characterCount, contains, endsWith, allUpperCase],
  ...[...allLowerCase, notNull, jsonSchema, jsonKeys, containsCode],
  ...[...modelWhitelist, modelRules, allowedRequestTypes, requiredMetadataKeys, requiredMetadataKeyPairs],
  ...[requestParams, addPrefix, inlineImage, validUrls, webhook, log, jwt],
  ...[pii, secrets, language, gibberish, promptInjection, moderateContent],
  ...partnerChecks,
];

/** Every check that can run, by its id. An id that is missing here has a row in the table of checks but no code yet. */
export const checks: ReadonlyMap<string, Check> = new Map(all.map((check) => [check.id, check]));
