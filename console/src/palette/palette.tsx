// The palette: a field that finds pages, actions and records, and a list of the matches; a combobox
// for screen readers.
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import '../style/palette.css';
import { count } from '../format.ts';
import {
  Dialog,
  Icon,
  IconButton,
  type IconName,
  type Reading,
  together,
  Unread,
} from '../ui/ui.ts';
import { isComposing } from './keys.ts';
import { ranked } from './match.ts';
import { recentKeys, remember } from './recent.ts';

export interface Item {
  /** Identifies the item, also next time: `server fra1`. */
  key: string;
  /** The kind of item, in people's words. */
  kind: string;
  name: string;
  /** Shown next to the name: what it is, where, whose. */
  note?: string | undefined;
  icon: IconName;
  /** Further words that match, in addition to the name. */
  words?: string;
  /** Shown before anything is typed. */
  isCommon?: boolean;
  onSelect: () => void;
}

interface PaletteProps {
  items: readonly Item[];
  typed: string;
  onType: (text: string) => void;
  /** Whether more items may come. */
  isReading: boolean;
  /** The readings of the lists that it searches. */
  reads: ReadonlyArray<Reading<unknown>>;
  /** The user whose recent choices come first. */
  who: string;
  placeholder: string;
  onClose: () => void;
}

const maxShown = 50;

export function Palette(props: PaletteProps) {
  const { items, typed, onType, isReading, reads, who, placeholder, onClose } = props;
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const [recent] = useState(() => recentKeys(who));
  const groups = useMemo(() => groupsOf(items, typed, recent), [items, typed, recent]);
  const shown = groups.flatMap((group) => group.items);
  const [selected, setSelected] = useState(0);
  const active = Math.min(selected, shown.length - 1);
  const optionId = (at: number) => `${id}-${at}`;
  useEffect(() => setSelected(0), [typed]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [active]);

  const select = (item: Item | undefined) => {
    if (!item) return;
    remember(who, item.key);
    onClose();
    // After the focus is back where it was, since a dialog takes it from there.
    setTimeout(item.onSelect);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (isComposing(event) || (!step && event.key !== 'Enter')) return;
    event.preventDefault();
    if (!step) select(shown[active]);
    else if (shown.length > 0) setSelected((active + step + shown.length) % shown.length);
  };
  const all = together(reads);
  const noResults = all.error ? '' : `No results for “${typed.trim()}”`;
  const empty = isReading ? 'Searching …' : noResults;
  let at = -1;
  return (
    <Dialog title="Find anything" look="palette" onClose={onClose}>
      <div class="palette-field">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Find anything"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls={`${id}-list`}
          aria-activedescendant={active >= 0 ? optionId(active) : undefined}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          maxLength={253}
          placeholder={placeholder}
          value={typed}
          onInput={(event) => onType(event.currentTarget.value)}
          onKeyDown={press}
        />
        <IconButton icon="close" label="Close" onClick={onClose} />
      </div>
      <div id={`${id}-list`} class="palette-list" role="listbox" aria-label="Found" ref={list}>
        {groups.map(({ name, items: groupItems }) => (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a listbox
          <div key={name} role="group" aria-label={name}>
            {typed.trim() === '' && (
              <p class="palette-group" aria-hidden="true">
                {name}
              </p>
            )}
            {groupItems.map((item) => {
              at += 1;
              const itemIndex = at;
              return (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
                // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
                <div
                  key={item.key}
                  id={optionId(itemIndex)}
                  role="option"
                  aria-selected={itemIndex === active}
                  class="palette-item"
                  onPointerMove={() => setSelected(itemIndex)}
                  onPointerDown={(event) => event.preventDefault()}
                  onClick={() => select(item)}
                >
                  <Icon name={item.icon} />
                  <span class="palette-name">
                    {item.name}
                    {item.note && <span class="note">{item.note}</span>}
                  </span>
                  {typed.trim() !== '' && <span class="note palette-kind">{item.kind}</span>}
                </div>
              );
            })}
          </div>
        ))}
      </div>
      <Unread reading={{ ...all, data: undefined }} name="everything" />
      <p class={shown.length === 0 ? 'palette-empty' : 'visually-hidden'} role="status">
        {shown.length === 0 ? empty : count(shown.length, 'result')}
      </p>
      <p class="palette-keys" aria-hidden="true">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> to move
        </span>
        <span>
          <kbd>Enter</kbd> to open
        </span>
        <span>
          <kbd>Esc</kbd> to close
        </span>
      </p>
    </Dialog>
  );
}

interface Group {
  name: string;
  items: readonly Item[];
}

/** Before anything is typed, recent and common items by kind; then the matches, the best first. */
function groupsOf(items: readonly Item[], typed: string, recent: readonly string[]): Group[] {
  if (typed.trim() !== '') {
    const matches = ranked(items, typed, recent).slice(0, maxShown);
    return matches.length > 0 ? [{ name: 'Results', items: matches }] : [];
  }
  const lately = recent.flatMap((key) => items.find((item) => item.key === key) ?? []);
  const common = items.filter((item) => item.isCommon && !lately.includes(item));
  const kinds = Map.groupBy(common, ({ kind }) => kind);
  return [
    ...(lately.length > 0 ? [{ name: 'Recent', items: lately }] : []),
    ...Array.from(kinds, ([name, kindItems]) => ({ name: `${name}s`, items: kindItems })),
  ];
}
