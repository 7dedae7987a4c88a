"""Plan of a study: every run with its values, checked before the first one starts."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from soft_arm_description.assembly import load_assembly
from soft_arm_description.robot import load_robot
from soft_arm_description.segments import KINDS
from soft_arm_description.world import load_world
from soft_arm_io.command_line import MAX_SEED
from soft_arm_io.errors import InputError
from soft_arm_io.yaml_file import shown, validation_message
from soft_arm_physics import load_pneumatics
from soft_arm_studies.errors import StudyError
from soft_arm_studies.keys import Place, check_apart, merged, places
from soft_arm_studies.samples import samples
from soft_arm_studies.study_file import CLOSED_LOOP, SIMULATE, Study, fingerprint


@dataclass(frozen=True)
class Plan:
    """The runs of a study."""

    study: Study
    contents: dict[str, Any]
    """Contents common to all runs, by root: `robot`, `world`, `actuation`, .., `seed`."""
    places: dict[str, list[Place]]
    """Places of each varied key in the contents."""
    values: list[tuple]
    """The values of the varied keys, run by run."""
    refused: dict[int, str]
    """Reason for each run, by number, whose values its files do not allow."""

    @property
    def fingerprint(self) -> str:
        """Hash of everything that determines the runs."""
        return fingerprint(
            {
                'experiment': self.study.experiment,
                'contents': self.contents,
                'keys': list(self.places),
                'values': self.values,
            }
        )

    def keys_of(self, run: int) -> dict[str, Any]:
        """Return the merged keys of a run."""
        return merged(self.contents, self.places, self.values[run])


def make_plan(study: Study, folder: Path, progress: Callable[[Iterable], Iterable] = iter) -> Plan:
    """Read the files of a study and check all runs.

    A run with values that its files do not allow is refused, since samples of several keys may be
    incompatible; if all runs are refused, the study is.

    Args:
        study: The study.
        folder: Folder of the relative paths in the study.
        progress: Wraps the loop over all runs.

    Raises:
        StudyError: If a file or a key is invalid, or the values of all runs are.
    """
    models = _models(study, folder)
    contents: dict[str, Any] = {
        root: TypeAdapter(type(model)).dump_python(model, mode='json', exclude_unset=True)
        for root, model in models.items()
    }
    for root in ('actuation', 'controller', 'parameters'):
        contents[root] = copy.deepcopy(getattr(study, root))
    contents['seed'] = study.seed
    if study.experiment == SIMULATE:
        from soft_arm_studies import simulate  # takes a while

        simulate.check_results(study.results or ())
        contents['actuation'] = simulate.complete(contents['actuation'], models)
    places_of = {key: places(key, contents, models) for key in study.vary.keys}
    whole = [key for key in places_of if key in contents and key != 'seed']
    if whole:
        raise StudyError(f'vary: {whole[0]}: name one of its keys, as in {whole[0]}.KEY')
    check_apart(places_of)
    contents['results'] = list(study.results or ())
    plan = Plan(study, contents, places_of, samples(study.vary, study.seed), {})
    plan.refused.update(_refused(plan, models, progress))
    if len(plan.refused) == len(plan.values):
        raise StudyError(f'run 0: {plan.refused[0]}')
    return plan


def _models(study: Study, folder: Path) -> dict[str, Any]:
    """Read the files that a study names; return their validated objects by root."""
    models: dict[str, Any] = {}
    for root, load in _LOADERS.items():
        if (name := getattr(study, root)) is not None:
            try:
                models[root] = load(folder / name if (folder / name).is_file() else name)
            except InputError as error:
                raise StudyError(f'{root}: {error}') from error
    if study.simulation:
        models['simulation'] = study.simulation
    if study.experiment == CLOSED_LOOP:
        from soft_arm_studies import closed_loop  # takes a while

        models |= closed_loop.settings_of(study, models['robot'])
    return models


_LOADERS: dict[str, Callable[[str | Path], Any]] = {
    'robot': load_robot,
    'assembly': load_assembly,
    'world': load_world,
    'pneumatics': load_pneumatics,
}


def _refused(
    plan: Plan, models: dict[str, object], progress: Callable[[Iterable], Iterable]
) -> dict[int, str]:
    """Return the reason for each run whose values its files do not allow."""
    varied = {str(own[0][0]) for own in plan.places.values()}
    adapters = {root: TypeAdapter(type(models[root])) for root in varied & models.keys()}
    refused = {}
    for run in progress(range(len(plan.values))):
        try:
            _check_run(plan, plan.keys_of(run), models, adapters)
        except StudyError as error:
            pairs = zip(plan.places, plan.values[run], strict=True)
            given = ', '.join(f'{key} = {shown(value)}' for key, value in pairs)
            refused[run] = f'{error} ({given})'
    return refused


def _check_run(
    plan: Plan, keys: dict[str, Any], models: dict[str, object], adapters: dict[str, TypeAdapter]
) -> None:
    made = dict(models)
    for root, adapter in adapters.items():
        try:
            made[root] = adapter.validate_python(keys[root])
        except ValidationError as error:
            raise StudyError(f'{root}.{validation_message(error, KINDS)}') from error
    seed = keys['seed']
    if isinstance(seed, bool) or not (isinstance(seed, int) and 0 <= seed <= MAX_SEED):
        raise StudyError(
            f'seed: must be a whole number of 0..{MAX_SEED}: give a list or a range with whole: '
            'true'
        )
    if plan.study.experiment == SIMULATE:
        from soft_arm_studies import simulate  # takes a while

        simulate.actuation_courses(keys, made)
