"""The process that compiles a game's rules for `webassembly.py`, one object file per rule.

numba optimises its IR for the local processor, which fixes even field offsets for 64-bit pointers.
Here it does not optimise; LLVM does, after the IR targets WebAssembly. This must be set before
numba compiles anything, which importing azcore's kernels may do.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from numba import carray, cfunc, types
from numba.core.codegen import CPUCodeLibrary

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint"  # of all browsers since 2023
SPEED = 3  # LLVM's -O3


def write_objects(game: Any, folder: Path) -> None:
    """One object file for each rule."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(opt=SPEED, features=FEATURES, reloc="static")
    options = llvm.create_pipeline_tuning_options(speed_level=SPEED)
    passes = llvm.create_pass_builder(machine, options)
    for name, function in _entries(game).items():
        ir = _for_webassembly(function.inspect_llvm())
        ir = re.sub(rf"@{re.escape(function.native_name)}\b", f"@{name}", ir)
        module = llvm.parse_assembly(ir)
        module.triple, module.data_layout = TRIPLE, str(machine.target_data)
        module.verify()
        passes.getModulePassManager().run(module, passes)
        (folder / f"{name}.o").write_bytes(machine.emit_object(module))


def _for_webassembly(ir: str) -> str:
    ir = ir.replace("= common ", "= internal ")  # which WebAssembly lacks
    # Reference counts, by instructions of x86: the page frees all memory of a call at its end.
    counting = r"^define [^\n]*@(NRT_incref|NRT_decref)\(.*?^}$"
    return re.sub(
        counting, r"define linkonce_odr void @\1(ptr %0) { ret void }", ir, flags=re.M | re.S
    )


def _entries(game: Any) -> dict[str, Any]:
    """The rules as functions over addresses, by name, compiled for this processor."""
    rules, actions, shape = game.rules, game.num_actions, game.observation_shape
    legal_actions, observe = rules.legal_actions, rules.observe
    current_player, step = rules.current_player, rules.step
    is_terminal, outcome = rules.is_terminal, rules.outcome

    def of_legal_actions(state: Any, buffer: Any, number: int) -> int:
        return legal_actions(carray(state, 1)[0], carray(buffer, actions))  # type: ignore[no-any-return]

    def of_observe(state: Any, buffer: Any, number: int) -> int:
        observe(carray(state, 1)[0], carray(buffer, shape))
        return 0

    def of_step(state: Any, buffer: Any, number: int) -> int:
        step(carray(state, 1)[0], number)
        return 0

    def of_current_player(state: Any, buffer: Any, number: int) -> int:
        return current_player(carray(state, 1)[0])  # type: ignore[no-any-return]

    def of_is_terminal(state: Any, buffer: Any, number: int) -> int:
        return 1 if is_terminal(carray(state, 1)[0]) else 0

    def of_outcome(state: Any, buffer: Any, number: int) -> int:
        return outcome(carray(state, 1)[0])  # type: ignore[no-any-return]

    pointer: Any = types.CPointer
    state, whole, byte = map(pointer, (game.state_type, types.int32, types.uint8))
    written: dict[str, tuple[Any, Any]] = {
        "current_player": (of_current_player, byte),
        "legal_actions": (of_legal_actions, whole),
        "step": (of_step, byte),
        "is_terminal": (of_is_terminal, byte),
        "outcome": (of_outcome, byte),
        "observe": (of_observe, byte),
    }
    return {
        name: cfunc(types.int32(state, buffer, types.int32))(function)
        for name, (function, buffer) in written.items()
    }


if __name__ == "__main__":
    CPUCodeLibrary._optimize_functions = lambda *_: None  # type: ignore[method-assign]
    CPUCodeLibrary._optimize_final_module = lambda _: None  # type: ignore[method-assign]
    from azcore.game.registry import make

    write_objects(make(**json.loads(sys.argv[2])), Path(sys.argv[1]))
