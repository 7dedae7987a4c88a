"""What the controller's return codes are called.

Those that the emulator answers with, and their neighbours in meaning.
"""

RETURN_CODES = {
    294912: ('SYS_CTRL_S_OK', 'Done.'),
    294914: ('SYS_CTRL_S_PENDING', 'Not done yet.'),
    -1073445885: (
        'SYS_CTRL_E_SERVICE_NOT_SUPPORTED',
        'This version of the controller has no such service.',
    ),
    -1073445881: ('SYS_CTRL_E_REJECT', 'Refused by the safety or access rules of the controller.'),
    -1073445880: ('SYS_CTRL_E_RESOURCE_NOT_HELD', 'The caller does not hold the resource.'),
    -1073445879: ('SYS_CTRL_E_INVALIDARG', 'An argument is not valid.'),
    -1073445871: ('SYS_CTRL_E_MAX_LIMIT_REACHED', 'There are as many of these as there can be.'),
    -1073445870: ('SYS_CTRL_E_NO_SUCH_REQUEST', 'The user has asked for nothing.'),
    -1073445867: ('SYS_CTRL_E_UAS_REJECT', 'The user has no grant for this.'),
    -1073445866: ('SYS_CTRL_E_UNRESOLVED_URL', 'The address names nothing.'),
    -1073445862: ('SYS_CTRL_E_RESOURCE_HELD', 'Someone else holds the resource.'),
    -1073445860: ('SYS_CTRL_E_MODE_REJECT', 'Not in this operation mode.'),
    -1073445859: ('SYS_CTRL_E_MASTER_REJECT', 'The caller needs mastership.'),
    -1073445858: ('SYS_CTRL_E_BACKUP_IN_PROGRESS', 'Not while a backup is made.'),
    -1073445851: ('SYS_CTRL_E_SYSFAIL_REJECT', 'Not in system failure.'),
    -1073445839: ('SYS_CTRL_E_NAMEEXIST', 'The name exists already.'),
    -1073442816: ('SYS_CTRL_E_NO_SUCH_SYMBOL', 'There is no such RAPID symbol.'),
    -1073442809: ('SYS_CTRL_E_EXEC_STATE', 'Not in this execution state.'),
    -1073442807: ('SYS_CTRL_E_NOT_ON_PATH', 'The robot is not on its path.'),
    -1073442803: ('SYS_CTRL_E_RAPID_SYNTAX_ERROR', 'The program has syntax errors.'),
    -1073442786: ('SYS_CTRL_E_SYMBOL_NOT_PERSISTENT', 'The symbol is not persistent.'),
    -1073442784: ('SYS_CTRL_E_UI_INSTRUCTION_NOT_ACTIVE', 'No program waits for an answer.'),
    -1073442783: ('SYS_CTRL_E_NO_PP', 'There is no program pointer.'),
    -1073438713: ('SYS_CTRL_E_DIR_NOT_EXIST', 'There is no such folder.'),
    -1073437691: (
        'SYS_CTRL_E_CFG_INSTANCE_INVALID',
        'There is no such instance, or it is write protected.',
    ),
    -1073436654: ('SYS_CTRL_E_POSE_OUTSIDE_REACH', 'The position is out of reach.'),
    -1073435904: ('SYS_CTRL_E_INVALIDSLOTID', 'There is no such queue.'),
    -1073435903: ('SYS_CTRL_E_QUEUEFULL', 'The queue is full.'),
    -1073435901: ('SYS_CTRL_E_OPTION', 'The controller does not have the option.'),
    -1073414146: ('SYS_CTRL_E_FAIL', 'Failed, for no reason that is told.'),
}
