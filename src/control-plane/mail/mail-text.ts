import type { MailContent } from '../store/store.js';

/** A mail as it is sent. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const ending = 'Sent by Headgate. Answers to this mail are not read.';

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

function textOf({ paragraphs, facts, commands = [], linkLabel = 'Link' }: MailContent, link: string | null) {
  const width = Math.max(0, ...facts.map(([name]) => name.length));
  const parts = [
    ...paragraphs,
    facts.map(([name, value]) => `${`${name}:`.padEnd(width + 1)} ${value}`).join('\n'),
    link === null ? '' : `${linkLabel}:\n${link}`,
    commands.map((command) => `    ${command}`).join('\n'),
    `-- \n${ending}`,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const cell = 'padding:4px 16px 4px 0;vertical-align:top;text-align:left';

function htmlOf(content: MailContent, link: string | null): string {
  const { subject, paragraphs, facts, commands = [], linkLabel = 'Link' } = content;
  const rows = facts.map(
    ([name, value]) =>
      `<tr><th scope="row" style="${cell};font-weight:normal;color:#555">${escaped(name)}</th><td style="${cell}">${escaped(value)}</td></tr>`,
  );
  const body = [
    ...paragraphs.map((text) => `<p>${escaped(text)}</p>`),
    rows.length === 0 ? '' : `<table style="border-collapse:collapse">${rows.join('')}</table>`,
    link === null ? '' : `<p><a href="${escaped(link)}">${escaped(linkLabel)}</a></p>`,
    commands.length === 0 ? '' : `<pre>${commands.map(escaped).join('\n')}</pre>`,
    `<p style="color:#777;font-size:12px">${escaped(ending)}</p>`,
  ].filter((part) => part !== '');
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escaped(subject)}</title></head>
<body style="font-family:sans-serif;font-size:15px;line-height:1.5">
${body.join('\n')}
</body>
</html>
`;
}

/** The subject, the plain text and the HTML of a mail. */
export const mailText = (content: MailContent, link: string | null): MailText => ({
  subject: content.subject,
  text: textOf(content, link),
  html: htmlOf(content, link),
});
