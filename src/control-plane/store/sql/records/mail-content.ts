import type { MailContent } from '../../records/mails.js';

/** Characters of a subject, of a sentence or value, and how many of them there may be. */
const longestSubject = 200;
const longestText = 1000;
const most = 50;

/** Control characters and line ends: a name must not end a header or a line of the text. */
const control = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;
/** What turns the direction of writing: a name must not rearrange the text around it. */
const direction = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Halves of characters become U+FFFD. */
const wellFormed = (text: string): string => Buffer.from(text).toString();

/** One line, without characters that end or rearrange it. */
function line(text: string, longest: number): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return wellFormed(cut).replace(direction, '').replace(control, ' ').trim();
}

/** As it is stored: names of people and keys are in it, however long and whatever they contain. */
export const boundedContent = ({
  subject,
  paragraphs,
  facts,
  commands,
  linkLabel,
}: MailContent): MailContent => ({
  subject: line(subject, longestSubject),
  paragraphs: paragraphs.slice(0, most).map((text) => line(text, longestText)),
  facts: facts
    .slice(0, most)
    .map(([name, value]) => [line(name, longestSubject), line(value, longestText)] as const),
  ...(commands && { commands: commands.slice(0, most).map((text) => line(text, longestText)) }),
  ...(linkLabel !== undefined && { linkLabel: line(linkLabel, longestSubject) }),
});
