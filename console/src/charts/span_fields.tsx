// The fields for a time range, and for a comparison with the one before: all in the address.
import type { ComponentChildren } from 'preact';
import { useAddressStates } from '../address.ts';
import { periodText } from '../format.ts';
import { now } from '../now.ts';
import { CheckField, DateField, optionsIn, SelectField } from '../ui/ui.ts';
import { daySeconds, isoDay } from './days.ts';
import {
  type Choice,
  nameOfPeriod,
  type Period,
  type Span,
  type SpanName,
  spanBefore,
  spanNames,
  spanOf,
} from './span.ts';

interface Offered {
  names: readonly SpanName[];
  /** The range if the address names none. */
  standard: SpanName | 'period';
  /** See `spanOf`. */
  grain: number;
  /** For an account: when counting began and its billing periods, once read. */
  periods?: { start?: number; period?: Period; earlier?: readonly Period[] };
}

export interface SelectedSpan {
  choice: Choice;
  /** Undefined: the choice is wrong, or its billing period is not known yet. */
  span: Span | undefined;
  wrong: string | undefined;
  /** The previous period, if a comparison is selected and there is one. */
  before: Span | undefined;
  /** For `SpanFields`. */
  offered: Offered;
  change: (changes: Partial<Record<'span' | 'first' | 'last' | 'compare', string>>) => void;
  isCompared: boolean;
}

export function useSpan(offered: Offered): SelectedSpan {
  const { names, standard, grain, periods } = offered;
  const [state, change] = useAddressStates({ span: '', first: '', last: '', compare: '' });
  const { first, last, compare } = state;
  const isOffered = names.some((name) => name === state.span) || state.span.startsWith('period:');
  const choice = { name: isOffered ? state.span : standard, first, last };
  const calendar = { now: now.value, grain, ...periods };
  const isWaiting = choice.name.startsWith('period') && !periods?.period;
  const result = isWaiting ? undefined : spanOf(choice, calendar);
  const wrong = result && 'wrong' in result ? result.wrong : undefined;
  const span = result && 'from' in result ? result : undefined;
  const isCompared = compare !== '';
  const before = span && isCompared ? spanBefore(choice, span, calendar) : undefined;
  return { choice, span, wrong, before, offered, change, isCompared };
}

/** The fields in a row, after `children`, and below them the reason why the range is invalid. */
export function SpanFilters({
  selected,
  children,
}: {
  selected: SelectedSpan;
  children?: ComponentChildren;
}) {
  return (
    <>
      <div class="filters">
        {children}
        <SpanFields selected={selected} />
      </div>
      <p class="fault" role="alert">
        {selected.wrong}
      </p>
    </>
  );
}

export function SpanFields({
  selected: { choice, offered, change, isCompared },
}: {
  selected: SelectedSpan;
}) {
  const { names, standard, periods } = offered;
  const options = [
    ...(standard === 'period' ? [{ value: 'period', text: 'This billing period' }] : []),
    ...optionsIn(Object.fromEntries(names.map((name) => [name, spanNames[name]]))),
    ...(periods?.earlier ?? []).map((period) => ({
      value: nameOfPeriod(period),
      text: periodText(period),
    })),
  ];
  const select = (name: string) => {
    // Custom dates are spelled out, so that a link keeps its days.
    const week = { first: isoDay(now.value - 6 * daySeconds), last: isoDay(now.value) };
    const dates = name === 'own' ? week : { first: '', last: '' };
    change({ span: name === standard ? '' : name, ...dates });
  };
  const days = {
    ...(periods?.start !== undefined && { min: isoDay(periods.start) }),
    max: isoDay(now.value),
  };
  return (
    <>
      <SelectField
        label="Time range"
        name="span"
        value={choice.name}
        options={options}
        onInput={select}
      />
      {choice.name === 'own' &&
        (['first', 'last'] as const).map((end) => (
          <DateField
            key={end}
            label={end === 'first' ? 'First day' : 'Last day'}
            name={end}
            {...days}
            value={choice[end]}
            onInput={(day) => change({ [end]: day })}
          />
        ))}
      <CheckField
        label="Compare with the previous period"
        name="compare"
        checked={isCompared}
        onInput={({ currentTarget }) => change({ compare: currentTarget.checked ? 'yes' : '' })}
      />
    </>
  );
}
